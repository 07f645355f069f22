using System;

namespace Example.Shop
{
    /// <summary>A basket.</summary>
    [Serializable]
    public class Basket : IBasket
    {
        public int Count { get; set; }

        public Basket(int count)
        {
            Count = count;
        }

        public void Add(string item)
        {
            Count++;
        }
    }

    public interface IBasket
    {
        void Add(string item);
    }

    public enum Size
    {
        Small,
        Large,
    }
}
